"""What programs would do, found out on a scratch cluster; and the scratch cluster itself."""
