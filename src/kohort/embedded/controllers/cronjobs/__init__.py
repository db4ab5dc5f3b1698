"""CronJobs: Jobs made by the clock."""
