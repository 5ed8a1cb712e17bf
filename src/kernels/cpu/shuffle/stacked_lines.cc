#include "kernels/cpu/shuffle/stacked_lines.h"

#include "kernels/cpu/table_lookup/byte_map.h"

namespace fettle::kernels {

StackedOrder::StackedOrder(int64_t lines, int64_t bytes)
    : count(lines), pixel_bytes(bytes), pixels(64 / (lines * bytes)) {
  int64_t at = 0;
  for (int64_t x = 0; x < pixels; ++x) {
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t b = 0; b < pixel_bytes; ++b, ++at) {
        places[at] = static_cast<uint8_t>(x * pixel_bytes + b);
        of_line[i] |= uint64_t{1} << at;
      }
    }
  }
}

StackLines ChooseStackLines() { return RunsAvx512Vbmi() ? StackLinesAvx512Vbmi() : nullptr; }

}  // namespace fettle::kernels
