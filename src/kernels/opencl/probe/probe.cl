// The ceilings of a device.

// Eight independent chains of float4 multiply-adds in registers: 64 operations a round and
// work-item. gws = {work-items}.
__kernel void probe_fma(__global float* out, const float factor, const int rounds) {
  float4 a = (float4)(get_global_id(0)), b = a + 1.0f, c = a + 2.0f, d = a + 3.0f;
  float4 e = a + 4.0f, f = a + 5.0f, g = a + 6.0f, h = a + 7.0f;
  const float4 m = (float4)(factor);
  for (int i = 0; i < rounds; ++i) {
    a = mad(a, m, m);
    b = mad(b, m, m);
    c = mad(c, m, m);
    d = mad(d, m, m);
    e = mad(e, m, m);
    f = mad(f, m, m);
    g = mad(g, m, m);
    h = mad(h, m, m);
  }
  const float4 sum = a + b + c + d + e + f + g + h;
  out[get_global_id(0)] = sum.x + sum.y + sum.z + sum.w;
}

// Every work-item reads float4s that are as many apart as there are work-items: `count` of them in
// all, `repeats` times over.
__kernel void probe_read(__global const float4* restrict in, __global float* out, const int count,
                         const int repeats) {
  float4 sum = (float4)(0.0f);
  for (int r = 0; r < repeats; ++r) {
    for (int i = get_global_id(0); i < count; i += get_global_size(0)) sum += in[i];
  }
  out[get_global_id(0)] = sum.x + sum.y + sum.z + sum.w;
}
