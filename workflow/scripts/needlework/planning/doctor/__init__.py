"""The command `needlework doctor`: it asks a server about itself, and writes the configuration of its run."""
