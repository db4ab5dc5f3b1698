"""StatefulSets: ordered pods with stable names and storage."""
