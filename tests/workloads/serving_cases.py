"""All cases of serving workloads."""

from workloads.serving_deployments import (
    a_deployment_comes_up,
    a_deployment_is_scaled,
    a_new_image_rolls_out_and_back,
    a_paused_deployment_waits,
    a_pod_is_released_by_its_labels,
    a_quota_stands_in_the_way,
    a_rollout_that_stands_still_is_reported,
    old_revisions_go,
    pods_that_do_not_get_ready_hold_up_a_rollout,
    recreate_replaces_all_at_once,
    sets_and_pods_are_orphaned_and_adopted,
)
from workloads.serving_disruptions import (
    a_budget_guards_its_pods,
    a_pod_of_no_node_goes,
    a_silent_node_is_lost,
    pods_leave_a_tainted_node,
)
from workloads.serving_stateful_sets import (
    a_parallel_stateful_set_starts_elsewhere_and_shrinks,
    a_partition_keeps_lower_pods,
    a_stateful_set_comes_up_in_order,
    a_stateful_set_is_updated_and_undone,
    claims_come_with_their_pods,
    on_delete_waits,
)

SERVING_CASES = (
    a_deployment_comes_up,
    a_new_image_rolls_out_and_back,
    recreate_replaces_all_at_once,
    a_paused_deployment_waits,
    a_rollout_that_stands_still_is_reported,
    pods_that_do_not_get_ready_hold_up_a_rollout,
    a_quota_stands_in_the_way,
    a_deployment_is_scaled,
    old_revisions_go,
    sets_and_pods_are_orphaned_and_adopted,
    a_pod_is_released_by_its_labels,
    a_stateful_set_comes_up_in_order,
    a_stateful_set_is_updated_and_undone,
    a_partition_keeps_lower_pods,
    a_parallel_stateful_set_starts_elsewhere_and_shrinks,
    on_delete_waits,
    claims_come_with_their_pods,
    a_budget_guards_its_pods,
    pods_leave_a_tainted_node,
    a_silent_node_is_lost,
    a_pod_of_no_node_goes,
)
