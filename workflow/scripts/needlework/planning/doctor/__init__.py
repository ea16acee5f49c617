"""The door of the doctor: what a server says of itself, and what it is asked."""
