"""What rules read, and what their scripts are told: a module for each concern of rules/."""
