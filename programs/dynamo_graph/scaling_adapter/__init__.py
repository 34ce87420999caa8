"""The controller of scaling adapters: each brings one component of a graph to the number of replicas that it was scaled to."""
