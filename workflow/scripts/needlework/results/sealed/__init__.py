"""What results were made from (provenance), the seal over them, and the run as an RO-Crate."""
