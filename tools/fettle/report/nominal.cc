#include "report/nominal.h"

namespace fettle::tools {
namespace {

/// Of the first row whose name the device's holds. Sources: NVIDIA's data sheets (dense, boost
/// clock), what CLBlast's and gemm-android's reports and public tables of Adreno quote for phones.
constexpr struct {
  std::string_view device;
  double fp32_fma, f16_mma, global_read;
} kNominal[] = {
    {"H200", 66.9e12, 989e12, 4.8e12},  {"H100 PCIe", 51.2e12, 756e12, 2.0e12},
    {"H100", 66.9e12, 989e12, 3.35e12}, {"A100-SXM4-80GB", 19.5e12, 312e12, 2.039e12},
    {"RTX 2070", 7.5e12, 0, 448e9},     {"Adreno(TM) 330", 166e9, 0, 0},
    {"Adreno(TM) 530", 519e9, 0, 0},    {"Adreno(TM) 640", 898.5e9, 0, 0},
    {"Adreno(TM) 660", 1382.4e9, 0, 0}, {"Mali-T760", 154e9, 0, 0},
};

}  // namespace

double NominalValue(std::string_view device, std::string_view ceiling) {
  for (const auto& row : kNominal) {
    if (device.find(row.device) == std::string_view::npos) continue;
    if (ceiling == "fp32 fma") return row.fp32_fma;
    if (ceiling == "f16 mma") return row.f16_mma;
    return ceiling == "global read" ? row.global_read : 0;
  }
  return 0;
}

}  // namespace fettle::tools
