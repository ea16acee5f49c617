"""What tests are made of, a module per benchmark: scores that no model gave, and tables of real files."""
