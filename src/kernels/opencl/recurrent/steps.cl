// The steps of RNN, GRU and LSTM with sigmoid gates and tanh, after the products of all inputs. With
// SPREAD 0 (`steps`) one work-group walks the steps of one sequence in one direction, with its
// state in global memory, which a barrier makes known to the group; with SPREAD 1 (`one_step`) a launch
// is one step, whose units many work-groups share. All buffers are f32. `units` is the hidden size rounded
// up to four; values behind the last unit stay zero.
//   gws = {ITEMS, directions * batch}; `one_step`: {ITEMS * (quads of units / QUADS), the same}; a
//         work-group is ITEMS items
//   sums     [steps * batch][directions][GATES][units], biases included
//   weights  [directions][hidden][GATES][units]
//   carried  [directions][units]: the bias of a GRU's candidate that its reset gate may scale
//   state    [directions * batch][3][units]: h, c (LSTM) or r * h (GRU), and the next h
//   y        [steps][directions][batch][hidden]; last_h, last_c [directions][batch][hidden]
// SLICES items share the products of four units, each over a part of the hidden values.
#include "kernels/opencl/recurrent/cell.clh"
#ifndef ITEMS
#define ITEMS 64
#endif
#ifndef SPREAD
#define SPREAD 0
#endif
// SUMMED gates add the products of the state to those of the input as they are.
#define SUMMED (CELL == 0 ? 1 : CELL == 2 ? 4 : 2)

static float4 Sigmoid(const float4 v) { return 1.0f / (1.0f + exp(-v)); }

static float4 LoadUnits(__global const float* from, const int quad, const int hidden) {
  float lanes[4];
  for (int i = 0; i < 4; ++i) lanes[i] = quad * 4 + i < hidden ? from[quad * 4 + i] : 0.0f;
  return vload4(0, lanes);
}
static void StoreUnits(const float4 v, __global float* to, const int quad, const int hidden) {
  float lanes[4];
  vstore4(v, 0, lanes);
  for (int i = 0; i < 4; ++i)
    if (quad * 4 + i < hidden) to[quad * 4 + i] = lanes[i];
}

// The products of `from` with the weights of gates [first, last) of a quad, for every SLICES-th
// hidden value from `slice` on.
__attribute__((always_inline)) static void Products(__global const float* from,
                                                    __global const float* weights, const int quad,
                                                    const int units, const int hidden,
                                                    const int slice, const int slices,
                                                    const int first, const int last,
                                                    __local float4* out) {
  float4 sum[GATES];
#pragma unroll
  for (int g = 0; g < GATES; ++g) sum[g] = (float4)(0.0f);
  for (int k = slice; k < hidden; k += slices) {
    const float4 scale = (float4)(from[k]);
#pragma unroll
    for (int g = first; g < last; ++g)
      sum[g] += scale * vload4(quad, weights + (k * GATES + g) * units);
  }
#pragma unroll
  for (int g = first; g < last; ++g) out[g] = sum[g];
}

// The next h of a quad from its gates' sums and its h, with c brought up to date. A GRU whose candidate is a
// product of its own (CELL 1) leaves r * h in c and gives z.
static float4 NextState(const float4* s, const float4 candidate, const int quad,
                        const float4 h, __global float* c) {
#if CELL == 0
  return tanh(s[0]);
#elif CELL == 1
  vstore4(Sigmoid(s[1]) * h, quad, c);
  return Sigmoid(s[0]);
#elif CELL == 2
  const float4 cell = Sigmoid(s[2]) * vload4(quad, c) + Sigmoid(s[0]) * tanh(s[3]);
  vstore4(cell, quad, c);
  return Sigmoid(s[1]) * tanh(cell);
#else
  const float4 fresh = tanh(s[2] + Sigmoid(s[1]) * candidate);
  return fresh + Sigmoid(s[0]) * (h - fresh);
#endif
}

#if SPREAD
// Neighbours that read weights of one cache line.
#define QUADS 2
#define SLICES (ITEMS / QUADS)

#define FLOATS (QUADS * GATES * 4)
#define SHARES (ITEMS / FLOATS)

// Sums the parts of SLICES slices, [SLICES][QUADS][GATES] quads of units, into those of slice 0: by
// each item one float of every SHARES-th slice, then the shares.
__attribute__((always_inline)) static void SumSlices(__local float* parts, const int lane) {
  barrier(CLK_LOCAL_MEM_FENCE);
  const int at = lane % FLOATS, share = lane / FLOATS;
  float sum = 0.0f;
  if (share < SHARES)
    for (int slice = share; slice < SLICES; slice += SHARES) sum += parts[slice * FLOATS + at];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (share < SHARES) parts[lane] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (lane < FLOATS) {
    for (int i = 1; i < SHARES; ++i) sum += parts[i * FLOATS + lane];
    parts[lane] = sum;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}

// Step `step` of all; h is in the first third of `state` before steps of even numbers, in the last
// before the others.
__kernel void one_step(__global const float* sums, const int sums_offset, __global const float* weights,
                   const int weights_offset, __global const float* carried,
                   const int carried_offset, __global float* state, const int state_offset,
                   __global const float* h0, const int h0_offset, __global const float* c0,
                   const int c0_offset, __global float* y, const int y_offset,
                   __global float* last_h, const int last_h_offset, __global float* last_c,
                   const int last_c_offset, const int4 extents, const int flags, const int step) {
  __local float4 parts[ITEMS * GATES];
  const int lane = get_local_id(0);
  const int sequence = get_global_id(1);
  const int step_count = extents.x, batch = extents.y, directions = extents.z, hidden = extents.w;
  const int direction = sequence / batch, quads = (hidden + 3) / 4, units = quads * 4;
  const bool backwards = direction == 1 || (flags & REVERSE) != 0;
  const int q = (int)get_global_id(0) / ITEMS * QUADS + lane % QUADS, slice = lane / QUADS;
  const int at = sequence * hidden;
  weights += weights_offset + direction * hidden * GATES * units;
  __global float* thirds = state + state_offset + sequence * 3 * units;
  __global const float* h = thirds + step % 2 * 2 * units;
  __global float* c = thirds + units;
  __global float* next = thirds + (step + 1) % 2 * 2 * units;

  const int t = backwards ? step_count - 1 - step : step;
  // What does not wait for the products is read before them.
  const bool finishes = slice == 0 && q < quads;
  float4 s[GATES], before = (float4)(0.0f), candidate = (float4)(0.0f);
  if (finishes) {
    const int row = (t * batch + sequence % batch) * directions + direction;
    __global const float* x = sums + sums_offset + row * GATES * units;
    for (int g = 0; g < GATES; ++g) s[g] = vload4(q, x + g * units);
    if (CELL == 3) candidate = vload4(q, carried + carried_offset + direction * units);
    if (step > 0) {
      before = vload4(q, h);
    } else {
      if (flags & HAS_H0) before = LoadUnits(h0 + h0_offset + at, q, hidden);
      vstore4((flags & HAS_C0) ? LoadUnits(c0 + c0_offset + at, q, hidden) : (float4)(0.0f), q, c);
    }
  }

  const bool is_zero = step == 0 && !(flags & HAS_H0);
#pragma unroll
  for (int g = 0; g < GATES; ++g) parts[lane * GATES + g] = (float4)(0.0f);
  if (q < quads && !is_zero)
    Products(step == 0 ? h0 + h0_offset + at : h, weights, q, units, hidden, slice, SLICES, 0,
             GATES, parts + lane * GATES);
  SumSlices((__local float*)parts, lane);
  if (!finishes) return;

  for (int g = 0; g < SUMMED; ++g) s[g] += parts[lane * GATES + g];
  if (CELL == 3) candidate += parts[lane * GATES + GATES - 1];
  const float4 made = NextState(s, candidate, q, before, c);
  vstore4(made, q, next);
  if (flags & HAS_Y)
    StoreUnits(made, y + y_offset + (t * directions * batch + sequence) * hidden, q, hidden);
  if (step + 1 < step_count) return;
  if (flags & HAS_LAST_H) StoreUnits(made, last_h + last_h_offset + at, q, hidden);
  if (flags & HAS_LAST_C) StoreUnits(vload4(q, c), last_c + last_c_offset + at, q, hidden);
}

#else
__kernel void steps(__global const float* sums, const int sums_offset,
                    __global const float* weights, const int weights_offset,
                    __global const float* carried, const int carried_offset, __global float* state,
                    const int state_offset, __global const float* h0, const int h0_offset,
                    __global const float* c0, const int c0_offset, __global float* y,
                    const int y_offset, __global float* last_h, const int last_h_offset,
                    __global float* last_c, const int last_c_offset, const int4 extents,
                    const int flags, const int slices) {
  __local float4 parts[ITEMS * GATES];
  const int lane = get_local_id(0);
  const int sequence = get_global_id(1);
  const int step_count = extents.x, batch = extents.y, directions = extents.z, hidden = extents.w;
  const int direction = sequence / batch, quads = (hidden + 3) / 4, units = quads * 4;
  const bool backwards = direction == 1 || (flags & REVERSE) != 0;
  const int quads_at_once = ITEMS / slices, slice = lane / quads_at_once;
  weights += weights_offset + direction * hidden * GATES * units;
  carried += carried_offset + direction * units;
  __global float* h = state + state_offset + sequence * 3 * units;
  __global float* c = h + units;
  __global float* next = c + units;

  for (int q = lane; q < quads; q += ITEMS) {
    const int at = sequence * hidden;
    const float4 zero = (float4)(0.0f);
    vstore4((flags & HAS_H0) ? LoadUnits(h0 + h0_offset + at, q, hidden) : zero, q, h);
    vstore4((flags & HAS_C0) ? LoadUnits(c0 + c0_offset + at, q, hidden) : zero, q, c);
  }
  barrier(CLK_GLOBAL_MEM_FENCE);

  for (int step = 0; step < step_count; ++step) {
    const int t = backwards ? step_count - 1 - step : step;
    const int row = (t * batch + sequence % batch) * directions + direction;
    __global const float* x = sums + sums_offset + row * GATES * units;
    __global float* out = y + y_offset + (t * directions * batch + sequence) * hidden;
    for (int first = 0; first < quads; first += quads_at_once) {
      const int q = first + lane % quads_at_once;
      const bool is_inside = q < quads && slice < slices;
      if (is_inside)
        Products(h, weights, q, units, hidden, slice, slices, 0, CELL == 1 ? SUMMED : GATES,
                 parts + lane * GATES);
      barrier(CLK_LOCAL_MEM_FENCE);
      if (is_inside && slice == 0) {
        float4 s[GATES];
        for (int g = 0; g < GATES; ++g) s[g] = vload4(q, x + g * units);
        float4 candidate = vload4(q, carried);
        for (int i = 0; i < slices; ++i) {
          __local const float4* part = parts + (lane + i * quads_at_once) * GATES;
          for (int g = 0; g < SUMMED; ++g) s[g] += part[g];
          if (CELL == 3) candidate += part[GATES - 1];
        }
        const float4 made = NextState(s, candidate, q, vload4(q, h), c);
        vstore4(made, q, next);
        if (CELL != 1 && (flags & HAS_Y)) StoreUnits(made, out, q, hidden);
      }
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
#if CELL == 1
    // The candidate's product is of r * h; `next` holds z.
    for (int first = 0; first < quads; first += quads_at_once) {
      const int q = first + lane % quads_at_once;
      const bool is_inside = q < quads && slice < slices;
      if (is_inside)
        Products(c, weights, q, units, hidden, slice, slices, 2, 3, parts + lane * GATES);
      barrier(CLK_LOCAL_MEM_FENCE);
      if (is_inside && slice == 0) {
        float4 s = vload4(q, x + 2 * units) + vload4(q, carried);
        for (int i = 0; i < slices; ++i) s += parts[(lane + i * quads_at_once) * GATES + 2];
        const float4 fresh = tanh(s);
        const float4 made = fresh + vload4(q, next) * (vload4(q, h) - fresh);
        vstore4(made, q, next);
        if (flags & HAS_Y) StoreUnits(made, out, q, hidden);
      }
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
#endif
    __global float* before = h;
    h = next;
    next = before;
  }

  for (int q = lane; q < quads; q += ITEMS) {
    const int at = sequence * hidden;
    if (flags & HAS_LAST_H) StoreUnits(vload4(q, h), last_h + last_h_offset + at, q, hidden);
    if (flags & HAS_LAST_C) StoreUnits(vload4(q, c), last_c + last_c_offset + at, q, hidden);
  }
}
#endif
