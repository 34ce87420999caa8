"""Where the Pods of a graph run, as labels of the Pods themselves."""
