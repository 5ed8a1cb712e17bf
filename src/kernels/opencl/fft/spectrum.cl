// Discrete Fourier transforms, a work-group each, in passes of one factor of the length after the
// other (Stockham's order). A pass makes number o of a transform from `factor` numbers of the pass
// before: with `done` the product of the factors so far, and within = o % (done * factor),
//   sum over q of x[o / (done * factor) * done + within % done + q * n / factor]
//                 * e^(-2 pi i q within / (done * factor)).
//   ITEMS       work-items of a work-group; gws = {transforms * ITEMS}
//   MOST        numbers that local memory has room for; at least n
//   roots       e^(-2 pi i k / n) for k < n
//   factors     of n, then 1s
//   spans       x and y: elements from one transform to the next, outer and inner, and from one
//               number to the next: {x outer, x inner, x step, y outer, y inner, y step}
//   samples     numbers that are read of a signal, the others are zero; bins: that are written
//   form        1: x is complex; 2: inverse, with a factor 1 / n; 4: x is half of a spectrum, and y
//               real
//   WINDOWED    1: samples are multiplied by `window`
#include "kernels/opencl/access.clh"

#ifndef ITEMS
#define ITEMS 64
#endif
#ifndef MOST
#define MOST 256
#endif
#ifndef WINDOWED
#define WINDOWED 0
#endif
#if WINDOWED
#define WINDOW_PARAM , __global const storage_t *restrict window, const int window_offset
#define WINDOW_AT(i) LOAD(window, window_offset + (i))
#else
#define WINDOW_PARAM
#define WINDOW_AT(i) 1.0f
#endif

static float2 Times(const float2 a, const float2 b) {
  return (float2)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

// Number i of a signal.
static float2 NumberAt(__global const storage_t* restrict x, const int i, const int step,
                       const int form) {
  return (float2)(LOAD(x, i * step), (form & 1) ? LOAD(x, i * step + 1) : 0.0f);
}

__kernel void spectrum(__global const storage_t* restrict x, const int x_offset,
                       __global storage_t* restrict y, const int y_offset,
                       __global const float2* restrict roots, const int n, const int8 factors,
                       const int8 spans, const int inners, const int samples, const int bins,
                       const int form WINDOW_PARAM) {
  __local float2 numbers[2][MOST];
  const int lane = get_local_id(0);
  const int t = get_global_id(0) / ITEMS;
  __global const storage_t* from = x + x_offset + t / inners * spans.s0 + t % inners * spans.s1;
  for (int i = lane; i < n; i += ITEMS) {
    float2 v = (float2)(0.0f);
    if (i < samples) {
      v = NumberAt(from, i, spans.s2, form) * WINDOW_AT(i);
    } else if ((form & 4) && n - i < samples) {
      v = NumberAt(from, n - i, spans.s2, form);
      v.y = -v.y;
    }
    numbers[0][i] = v;
  }
  int f[8];
  vstore8(factors, 0, f);
  int now = 0, done = 1;
  for (int pass = 0; pass < 8 && f[pass] > 1; ++pass) {
    barrier(CLK_LOCAL_MEM_FENCE);
    const int factor = f[pass], block = done * factor, apart = n / factor, turn = n / block;
    for (int o = lane; o < n; o += ITEMS) {
      const int within = o % block;
      const int first = o / block * done + within % done;
      // Of a whole turn: `within` of `block`, for each q once more.
      const int angle = within * turn;
      int at = 0;
      float2 sum = numbers[now][first];
      for (int q = 1; q < factor; ++q) {
        at += angle;
        if (at >= n) at -= n;
        float2 root = roots[at];
        if (form & 2) root.y = -root.y;
        sum += Times(numbers[now][first + q * apart], root);
      }
      numbers[1 - now][o] = sum;
    }
    done = block;
    now = 1 - now;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const float scale = (form & 2) ? 1.0f / n : 1.0f;
  __global storage_t* to = y + y_offset + t / inners * spans.s3 + t % inners * spans.s4;
  for (int i = lane; i < bins; i += ITEMS) {
    const float2 v = numbers[now][i] * scale;
    STORE(v.x, to, i * spans.s5);
    if (!(form & 4)) STORE(v.y, to, i * spans.s5 + 1);
  }
}
