"""Results as records of Every Eval Ever, schema 0.3.0: the format in which the field exchanges results."""
