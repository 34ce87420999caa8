"""`dynamo-manager`: the library and its programs as one process."""
