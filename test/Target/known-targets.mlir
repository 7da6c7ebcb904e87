// RUN: fa4-opt %s --split-input-file --verify-roundtrip | FileCheck %s --match-full-lines

// The whole table, so that no number changes unseen: docs/Targets.md says where
// each one comes from.

// CHECK: #target = #fa4.target<"sm_90a", ptx = 80, threads_per_warp = 32, threads_per_cta = 1024, ctas_per_cluster = 8, named_barriers = 16, registers_per_sm = 65536, registers_per_thread = 255, register_granule = 8, min_role_registers = 24, max_role_registers = 256, smem_bytes_per_cta = 232448, smem_swizzle_bytes = 1024, tmem_lanes = 0, tmem_columns = 0, tmem_alloc_granule = 0, mma_rows = [64], pair_mma_rows = [], mma_column_step = 8, mma_max_columns = 256, mma_k_bytes = 32, mma_flops_per_clock = 4096, exp2_per_clock = 16, fma_per_clock = 128, smem_bytes_per_clock = 128, l2_section_bytes = 33554432, async_warpgroup_mma = true, cta_pairs = false, cluster_launch_control = false, packed_f32x2 = false, three_input_max_f32 = false, tmem_load_reduce = false, mma_issue_order = true>
// CHECK: module attributes {fa4.target = #target} {
module attributes {fa4.target = #fa4.target<"sm_90a">} {}

// -----

// CHECK: #target = #fa4.target<"sm_100a", ptx = 88, threads_per_warp = 32, threads_per_cta = 1024, ctas_per_cluster = 8, named_barriers = 16, registers_per_sm = 65536, registers_per_thread = 255, register_granule = 8, min_role_registers = 24, max_role_registers = 256, smem_bytes_per_cta = 232448, smem_swizzle_bytes = 1024, tmem_lanes = 128, tmem_columns = 512, tmem_alloc_granule = 32, mma_rows = [64, 128], pair_mma_rows = [128, 256], mma_column_step = 16, mma_max_columns = 256, mma_k_bytes = 32, mma_flops_per_clock = 8192, exp2_per_clock = 16, fma_per_clock = 128, smem_bytes_per_clock = 128, l2_section_bytes = 52428800, async_warpgroup_mma = false, cta_pairs = true, cluster_launch_control = true, packed_f32x2 = true, three_input_max_f32 = true, tmem_load_reduce = false, mma_issue_order = true>
module attributes {fa4.target = #fa4.target<"sm_100a">} {}

// -----

// CHECK: #target = #fa4.target<"sm_103a", ptx = 88, threads_per_warp = 32, threads_per_cta = 1024, ctas_per_cluster = 8, named_barriers = 16, registers_per_sm = 65536, registers_per_thread = 255, register_granule = 8, min_role_registers = 24, max_role_registers = 256, smem_bytes_per_cta = 232448, smem_swizzle_bytes = 1024, tmem_lanes = 128, tmem_columns = 512, tmem_alloc_granule = 32, mma_rows = [64, 128], pair_mma_rows = [128, 256], mma_column_step = 16, mma_max_columns = 256, mma_k_bytes = 32, mma_flops_per_clock = 8192, exp2_per_clock = 32, fma_per_clock = 128, smem_bytes_per_clock = 128, l2_section_bytes = 52428800, async_warpgroup_mma = false, cta_pairs = true, cluster_launch_control = true, packed_f32x2 = true, three_input_max_f32 = true, tmem_load_reduce = true, mma_issue_order = true>
module attributes {fa4.target = #fa4.target<"sm_103a">} {}

// -----

// A row with changes is an invented chip: the dump carries what it changed.
// CHECK: #target = #fa4.target<"sm_100a", {{.*}}smem_bytes_per_cta = 102400, {{.*}}tmem_columns = 256, {{.*}}mma_issue_order = false>
module attributes {fa4.target = #fa4.target<"sm_100a", tmem_columns = 256, smem_bytes_per_cta = 102400, mma_issue_order = false>} {}
