"""Where results come from (provenance), the seal over them, and the run as an RO-Crate."""
