"""The inputs of rules and the parameters of their scripts: one module for each concern of rules/."""
