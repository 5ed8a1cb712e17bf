// One element-wise operator between row-major buffers whose shapes are broadcast, in the operands'
// own types. A work-item makes one element: gws = {elements of y}.
//   T, IS_SIGNED  the type of the first operand
// In front of this text: MEMORY_a, READ_a(p, i) and VALUE_a of each operand a, b and c, what is in
// memory, what reads an element of it and the type of that; MEMORY_y and WRITE_y(v, p, i); RESULT,
// what comes of a, b and c; OPERANDS, how many of these there are.
//   dims             extents of y, last axis last
//   a_steps and others  steps of the operands along them; 0 where one element is repeated
#ifndef RESULT
#define RESULT (a + b)
#define OPERANDS 2
#define T int
#define IS_SIGNED 1
#define MEMORY_a int
#define VALUE_a int
#define READ_a(p, i) ((p)[i])
#define MEMORY_b int
#define VALUE_b int
#define READ_b(p, i) ((p)[i])
#define MEMORY_y int
#define WRITE_y(v, p, i) ((p)[i] = (v))
#endif

#ifdef T
// Truncates; by zero gives 0, and the least value by -1 wraps.
static T Quotient(const T a, const T b) {
  if (b == 0) return 0;
#if IS_SIGNED
  if (b == -1) return (T)(0ul - (ulong)a);
#endif
  return a / b;
}

// The remainder has the sign of the divisor, or of the dividend with fmod; that by 0 is 0.
static T Remainder(const T a, const T b, const int fmod) {
  if (b == 0) return 0;
#if IS_SIGNED
  if (b == -1) return 0;
  const T r = a % b;
  return !fmod && r != 0 && (r < 0) != (b < 0) ? r + b : r;
#else
  return a % b;
#endif
}
#endif

#define OPERAND(x) , __global const MEMORY_##x* restrict x##_at, const int x##_offset, const int8 x##_steps
#define READ(x, k) \
  const VALUE_##x x = READ_##x(x##_at, x##_offset + from[k]);

__kernel void typed(__global MEMORY_y* restrict y, const int y_offset, const int count,
                    const int8 dims OPERAND(a)
#if OPERANDS > 1
                    OPERAND(b)
#endif
#if OPERANDS > 2
                    OPERAND(c)
#endif
) {
  const int e = get_global_id(0);
  if (e >= count) return;
  int d[8], steps[OPERANDS][8], from[OPERANDS];
  vstore8(dims, 0, d);
  vstore8(a_steps, 0, steps[0]);
#if OPERANDS > 1
  vstore8(b_steps, 0, steps[1]);
#endif
#if OPERANDS > 2
  vstore8(c_steps, 0, steps[2]);
#endif
  for (int k = 0; k < OPERANDS; ++k) from[k] = 0;
  int rest = e;
  for (int axis = 7; axis >= 0; --axis) {
    for (int k = 0; k < OPERANDS; ++k) from[k] += rest % d[axis] * steps[k][axis];
    rest /= d[axis];
  }
  READ(a, 0)
#if OPERANDS > 1
  READ(b, 1)
#endif
#if OPERANDS > 2
  READ(c, 2)
#endif
  WRITE_y(RESULT, y, y_offset + e);
}
