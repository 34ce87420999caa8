"""What inference engines change in the Pods of a worker: flags, environment, probes, and what must be there first (P 2.3-2.5)."""
