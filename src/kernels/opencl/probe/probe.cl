// The ceilings of a device.

// Processors run work-items one after the other: wide vectors, fused because that is their one
// instruction for it, and reads in one piece per work-item.
#ifndef PROCESSOR
#define PROCESSOR 0
#endif

#if PROCESSOR
typedef float16 vec;
#define MULTIPLY_ADD fma
float total(vec v) {
  const float8 a = v.lo + v.hi;
  const float4 b = a.lo + a.hi;
  return b.x + b.y + b.z + b.w;
}
#else
typedef float4 vec;
#define MULTIPLY_ADD mad
float total(vec v) { return v.x + v.y + v.z + v.w; }
#endif

// Eight independent chains of multiply-adds in registers: 16 operations a round, lane and
// work-item. gws = {work-items}.
__kernel void probe_fma(__global float* out, const float factor, const int rounds) {
  vec a = (vec)(get_global_id(0)), b = a + 1.0f, c = a + 2.0f, d = a + 3.0f;
  vec e = a + 4.0f, f = a + 5.0f, g = a + 6.0f, h = a + 7.0f;
  const vec m = (vec)(factor);
  for (int i = 0; i < rounds; ++i) {
    a = MULTIPLY_ADD(a, m, m);
    b = MULTIPLY_ADD(b, m, m);
    c = MULTIPLY_ADD(c, m, m);
    d = MULTIPLY_ADD(d, m, m);
    e = MULTIPLY_ADD(e, m, m);
    f = MULTIPLY_ADD(f, m, m);
    g = MULTIPLY_ADD(g, m, m);
    h = MULTIPLY_ADD(h, m, m);
  }
  out[get_global_id(0)] = total(a + b + c + d + e + f + g + h);
}

// The work-items read `count` vectors in all, `repeats` times over: neighbours by neighbours, or
// on processors a piece each. gws = {work-items}.
__kernel void probe_read(__global const vec* restrict in, __global float* out, const int count,
                         const int repeats) {
#if PROCESSOR
  const int piece = count / get_global_size(0), first = get_global_id(0) * piece;
  const int end = first + piece, step = 1;
#else
  const int first = get_global_id(0), end = count, step = get_global_size(0);
#endif
  vec sum = (vec)(0.0f);
  for (int r = 0; r < repeats; ++r) {
    for (int i = first; i < end; i += step) sum += in[i];
  }
  out[get_global_id(0)] = total(sum);
}
