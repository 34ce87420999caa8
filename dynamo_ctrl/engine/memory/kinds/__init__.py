"""What the server does with the content of built-in kinds: defaults, first status, and the rules that clients run into."""
