"""What the first tools/list costs a new process in each mode, and each further one."""
