"""The engine layer: one port to a cluster, `Engine`, and two that stand behind it, a client and a server in the process."""
