"""The reference's own code, whole, under a deterministic scheduler with virtual time."""
