"""StatefulSets: numbered pods with stable names and storage, which come, change and go in order."""
