"""HTTP routes of this package: the classes of a teacher, and joining and leaving one."""
