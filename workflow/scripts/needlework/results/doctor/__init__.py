"""The doctor: what the answers of a served model say of its server."""
