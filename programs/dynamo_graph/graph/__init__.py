"""The outer side of a graph: who serves it, when it may go, and what its status says whoever serves it."""
