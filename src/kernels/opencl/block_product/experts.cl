// Rounded rows (quantise.cl) times the weights in blocks of the experts that they choose: codes [experts][n][UNITS],
// pairs [experts][n][BLOCKS]. Work-items: expert_choices.clh.
#include "kernels/opencl/block_product/units.clh"
#undef LANES
#define LANES 8
#include "kernels/opencl/expert_choices.clh"

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void experts(
    __global const int4* restrict low, const int low_offset, __global const int4* restrict high, const int high_offset,
    __global const float2* restrict steps, const int steps_offset, __global const codes_t* restrict codes,
    const int codes_offset, __global const pair_t* restrict pairs, const int pairs_offset CHOSEN_PARAMS COUNT_PARAMS,
    __global float* restrict y, const int y_offset, const int n) {
  const int item = get_local_id(0), lane = item % LANES, at = get_global_id(1);
  const int column = get_global_id(0) / LANES;
  float total = 0.0f;
  for (int choice = at * EACH_CHOICES; choice < (at + 1) * EACH_CHOICES; ++choice) {
    const int weights = EXPERT_OF(choice) * n + min(column, n - 1), row = ROW_OF(choice) * UNITS;
    float sum = 0.0f;
    for (int unit = lane; unit < UNITS; unit += LANES) {
      const int4 l = low[low_offset + row + unit], h = HAS_HIGH ? high[high_offset + row + unit] : l;
      const float2 step = steps[steps_offset + row + unit];
      const float2 pair = PairOf(pairs[pairs_offset + weights * BLOCKS + unit / UNITS_OF_BLOCK]);
      const float dot = (float)DotUnit(codes[codes_offset + weights * UNITS + unit], l, h);
      sum += step.x * pair.x * dot + step.y * pair.y;
    }
    total += COUNT_OF(choice) * sum;
  }
  STORE_LANES(total)
}
