"""CronJobs: Jobs created on a schedule."""
