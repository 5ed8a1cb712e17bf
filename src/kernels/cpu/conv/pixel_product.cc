// compiled: small
#include "kernels/cpu/conv/pixel_product.h"

#include <algorithm>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/gemm/block.h"
#include "kernels/cpu/gemm/pack.h"
#include "kernels/fields.h"

namespace fettle::kernels {
namespace {

struct PanelsOfTask {
  int64_t panels = 1;
};
constexpr Fields kFields("", Field{"panels", &PanelsOfTask::panels, {}});

/// An eighth of the second-level cache: rows of the product pass over them.
int64_t NearFloats() {
  constexpr int64_t kLeast = 1 << 15, kMost = 1 << 16;
  return std::clamp(GetCpuInfo().l2_bytes / 8 / static_cast<int64_t>(sizeof(float)), kLeast, kMost);
}

/// Enough for each lane.
int64_t WantedTasks(int threads) { return threads == 1 ? 1 : int64_t{4} * threads; }

}  // namespace

int64_t PixelProduct::panels() const {
  return std::max<int64_t>(1, CeilDiv(pixels, GetMicroKernels().nr));
}

int64_t PixelProduct::UsualPanels(int threads) const {
  const int64_t near = std::min(NearFloats() / depth, most) / GetMicroKernels().nr;
  const int64_t share = CeilDiv(planes * panels(), WantedTasks(threads));
  return std::clamp<int64_t>(std::min(near, share), 1, panels());
}

ParamSpace PixelProduct::Space(int threads) const {
  const PanelsOfTask usual{UsualPanels(threads)};
  return {kFields.Tunables({ValuesAround(usual.panels, panels())}), kFields.Write(usual), {}};
}

int64_t PixelProduct::PanelsOf(const Params& params, int threads) const {
  const PanelsOfTask usual{UsualPanels(threads)};
  return std::clamp<int64_t>(kFields.Read(params, usual).panels, 1, panels());
}

int64_t PixelProduct::SharesOfRows(int64_t panels_of_task, int lanes) const {
  const int64_t tasks = planes * CeilDiv(panels(), panels_of_task);
  return std::max<int64_t>(1, WantedTasks(lanes) / 2 / tasks);
}

void PackPixels(const float* x, int64_t plane, int64_t inputs, int64_t count, bool has_ones,
                float* out) {
  const int nr = GetMicroKernels().nr;
  for (int64_t pixel = 0; pixel < count; pixel += nr) {
    PackPanel({x + pixel, plane}, inputs, std::min<int64_t>(nr, count - pixel), nr, 1, out);
    out += inputs * nr;
    if (!has_ones) continue;
    std::fill_n(out, nr, 1.0f);
    out += nr;
  }
}

}  // namespace fettle::kernels
