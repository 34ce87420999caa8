"""Pods as the controllers of graphs see them: what is kept of each, and how they are found."""
