"""The queue layer: which key runs when. State machines only; time is an argument, and nothing here waits."""
