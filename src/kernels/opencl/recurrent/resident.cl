// The steps of RNN, GRU (whose reset gate scales the product) and LSTM as steps.cl's `steps`, by
// one work-group for each sequence and direction that keeps weights in registers and the state in
// local memory: an item has one gate of one unit, whose first HELD weights it loads once. Operands
// are those of steps.cl; `state` is not used.
//   gws = {ITEMS, directions * batch}, ITEMS at least GATES * UNITS
//   HIDDEN  values of the state; UNITS: rounded up to four
//   HELD    a multiple of four, at most UNITS
#include "kernels/opencl/recurrent/cell.clh"
#ifndef ITEMS
#define ITEMS 64
#define HIDDEN 15
#define UNITS 16
#define HELD 8
#endif

// Sigmoid(v), or tanh(v).
static float Activated(const float v, const int is_tanh) {
  return is_tanh ? tanh(v) : 1.0f / (1.0f + exp(-v));
}

// An activated gate of a unit; of a GRU's candidate the product, with its bias.
static float GateOf(const float x, const float product, const int gate, const float carried) {
#if CELL == 0
  return tanh(x + product);
#elif CELL == 2
  return Activated(x + product, gate == 3);
#else
  return gate == 2 ? product + carried : Activated(x + product, 0);
#endif
}

// The next h of a unit from its gates, UNITS apart, and its h, with c brought up to date.
static float NextState(__local const float* gates, const float h, float* c) {
#if CELL == 0
  return gates[0];
#elif CELL == 2
  *c = gates[2 * UNITS] * *c + gates[0] * gates[3 * UNITS];
  return gates[UNITS] * tanh(*c);
#else
  const float fresh = tanh(gates[GATES * UNITS] + gates[UNITS] * gates[2 * UNITS]);
  return fresh + gates[0] * (h - fresh);
#endif
}

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void resident(
    __global const float* restrict sums, const int sums_offset,
    __global const float* restrict weights, const int weights_offset,
    __global const float* restrict carried, const int carried_offset, __global float* state,
    const int state_offset, __global const float* h0, const int h0_offset, __global const float* c0,
    const int c0_offset, __global float* y, const int y_offset, __global float* last_h,
    const int last_h_offset, __global float* last_c, const int last_c_offset, const int4 extents,
    const int flags) {
  __local float4 h[UNITS / 4];
  __local float gates[(GATES + 1) * UNITS];
  __local float* flat = (__local float*)h;
  const int row = get_local_id(0), sequence = get_global_id(1);
  const int step_count = extents.x, batch = extents.y, directions = extents.z;
  const int direction = sequence / batch, gate = row / UNITS, unit = row % UNITS;
  const int backwards = direction == 1 || (flags & REVERSE) != 0;
  const bool is_row = row < GATES * UNITS, is_unit = row < HIDDEN;
  const int pitch = batch * directions * GATES * UNITS;  // of a step's sums
  weights += weights_offset + direction * HIDDEN * GATES * UNITS + (is_row ? row : 0);
  sums += sums_offset + (sequence % batch * directions + direction) * GATES * UNITS +
          (is_row ? row : 0);

  float held[HELD];
#pragma unroll
  for (int k = 0; k < HELD; ++k) held[k] = k < HIDDEN ? weights[k * GATES * UNITS] : 0.0f;
  const float bias = CELL == 3 && is_row && gate == 2
                         ? carried[carried_offset + direction * UNITS + unit]
                         : 0.0f;
  float c = 0.0f;
  if (row < UNITS) {
    flat[row] = is_unit && (flags & HAS_H0) ? h0[h0_offset + sequence * HIDDEN + row] : 0.0f;
    if (is_unit && (flags & HAS_C0)) c = c0[c0_offset + sequence * HIDDEN + row];
  }
  barrier(CLK_LOCAL_MEM_FENCE);

  float x = step_count > 0 ? sums[(backwards ? step_count - 1 : 0) * pitch] : 0.0f;
  for (int step = 0; step < step_count; ++step) {
    const int t = backwards ? step_count - 1 - step : step;
    // The next step's, which are there when they are wanted.
    const int following = step + 1 < step_count ? (backwards ? t - 1 : t + 1) : t;
    const float next_x = sums[following * pitch];
    float4 sum = (float4)(0.0f);
#pragma unroll
    for (int k = 0; k < HELD; k += 4)
      sum += h[k / 4] * (float4)(held[k], held[k + 1], held[k + 2], held[k + 3]);
#pragma unroll 8
    for (int k = HELD; k < HIDDEN; ++k) sum.x += flat[k] * weights[k * GATES * UNITS];
    if (is_row) {
      gates[row] = GateOf(x, sum.x + sum.y + sum.z + sum.w, gate, bias);
      if (CELL == 3 && gate == 2) gates[GATES * UNITS + unit] = x;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (row < UNITS) {
      const float made = NextState(gates + row, flat[row], &c);
      if (is_unit) {
        flat[row] = made;
        if (flags & HAS_Y) y[y_offset + (t * directions * batch + sequence) * HIDDEN + row] = made;
      }
    }
    x = next_x;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (!is_unit) return;
  const int at = sequence * HIDDEN + row;
  if (flags & HAS_LAST_H) last_h[last_h_offset + at] = flat[row];
  if (flags & HAS_LAST_C) last_c[last_c_offset + at] = c;
}
