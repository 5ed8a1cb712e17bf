// Loops over memory: what bandwidths are measured with. Work-items go `steps` vectors each, from
// get_global_id(0) * START by `step`, in memory of mask + 1 vectors (a power of two): neighbours by
// neighbours, or on PROCESSORs a piece each. gws = {work-items}, out [work-items].
#ifndef PROCESSOR
#define PROCESSOR 0
#endif
#ifndef LOCAL_VECTORS
#define LOCAL_VECTORS 256
#endif
#ifndef IMAGES
#define IMAGES 0
#endif

#if PROCESSOR
typedef float16 vec;
#define SPLAT(x) (vec)(x)
float Total(vec v) {
  const float8 a = v.lo + v.hi;
  const float4 b = a.lo + a.hi;
  return b.x + b.y + b.z + b.w;
}
#define FIRST (get_global_id(0) * steps)
#else
typedef float4 vec;
#define SPLAT(x) (vec)(x)
float Total(vec v) { return v.x + v.y + v.z + v.w; }
#define FIRST get_global_id(0)
#endif

__kernel void probe_read(__global const vec* restrict in, __global float* out, const uint mask,
                         const uint step, const uint steps) {
  vec sum = SPLAT(0.0f);
  uint at = FIRST;
  for (uint i = 0; i < steps; ++i, at += step) sum += in[at & mask];
  out[get_global_id(0)] = Total(sum);
}

__kernel void probe_write(__global vec* restrict to, const float value, const uint mask,
                          const uint step, const uint steps) {
  uint at = FIRST;
  for (uint i = 0; i < steps; ++i, at += step) to[at & mask] = SPLAT(value);
}

__kernel void probe_copy(__global const vec* restrict in, __global vec* restrict to,
                         const uint mask, const uint step, const uint steps) {
  uint at = FIRST;
  for (uint i = 0; i < steps; ++i, at += step) to[at & mask] = in[at & mask];
}

// A group's own local memory, filled with ones.
__kernel void probe_local(__global float* out, const uint steps) {
  __local vec memory[LOCAL_VECTORS];
  for (uint i = get_local_id(0); i < LOCAL_VECTORS; i += get_local_size(0)) memory[i] = SPLAT(1.0f);
  barrier(CLK_LOCAL_MEM_FENCE);
  vec sum = SPLAT(0.0f);
  uint at = get_local_id(0);
  for (uint i = 0; i < steps; ++i, at += 64) sum += memory[at & (LOCAL_VECTORS - 1)];
  out[get_global_id(0)] = Total(sum);
}

#if IMAGES
// An image of RGBA pixels, 1 << shift of them in a row.
__kernel void probe_image(__read_only image2d_t in, __global float* out, const uint mask,
                          const uint step, const uint steps, const uint shift) {
  const sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_NONE | CLK_FILTER_NEAREST;
  float4 sum = (float4)(0.0f);
  uint at = FIRST;
  for (uint i = 0; i < steps; ++i, at += step) {
    const uint pixel = at & mask;
    sum += read_imagef(in, nearest, (int2)(pixel & ((1u << shift) - 1), pixel >> shift));
  }
  out[get_global_id(0)] = sum.x + sum.y + sum.z + sum.w;
}
#endif
