"""What runs inside of Pods. Nothing of this project is there: the scripts stand alone."""
