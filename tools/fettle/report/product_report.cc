#include "report/product_report.h"

#include <fmt/format.h>

#include "report/report.h"
#include "report/table.h"
#include "report/terminal.h"

namespace fettle::tools {
namespace {

Json RowJson(const ProductRow& row, const GemmOptions& options, double gflops, double factor) {
  Json json = {{"name", row.name},
               {"kernel", row.kernel},
               {"dtype", options.dtype},
               {"b", row.constant_b ? "constant" : "given"}};
  if (!row.refused.empty()) json["refused"] = row.refused;
  if (row.ms <= 0) return json;
  json["params"] = row.params;
  json["ms"] = row.ms;
  json["runs"] = row.runs;
  json["gflops"] = gflops;
  json["factor"] = factor;
  json["peak"] = row.peak.empty() ? Json() : Json(row.peak);
  json["share_of_peak"] = row.share_of_peak > 0 ? Json(row.share_of_peak) : Json();
  json["precision"] = row.precision;
  json["verified"] = row.verified;
  return json;
}

std::string ShareOf(const ProductRow& row) {
  if (row.share_of_peak <= 0) return {};
  return fmt::format("{:.1f} % {}", 100 * row.share_of_peak, row.peak);
}

/// The least of all lines.
std::string_view UsedPrecision(const std::vector<ProductRow>& rows) {
  std::string_view used = "high";
  for (const ProductRow& row : rows)
    if (row.precision == "low" || used == "high") used = row.precision;
  return used;
}

}  // namespace

std::string RemarksOn(const std::vector<ProductRow>& rows) {
  std::string remarks, wrong;
  bool has_results = false;
  for (const ProductRow& row : rows) {
    if (!row.refused.empty()) remarks += Fit(fmt::format("{}: {}", row.name, row.refused)) + "\n";
    has_results |= row.ms > 0;
    if (row.is_wrong()) wrong += (wrong.empty() ? "" : ", ") + row.name;
  }
  if (!wrong.empty()) return remarks + Fit("WRONG results: " + wrong) + "\n";
  return remarks + (has_results ? "results: verified\n" : "");
}

void PrintProducts(const GemmJob& job, const std::vector<ProductRow>& rows,
                   const std::vector<std::string>& warnings) {
  const GemmOptions& options = job.options;
  const runtime::ProductProblem& p = options.problem;
  const double gflop = 2e-6 * static_cast<double>(p.m) * static_cast<double>(p.n) *
                       static_cast<double>(p.k) * static_cast<double>(p.batch);
  constexpr auto kRight = Table::Align::kRight;
  Table table({{"name"},
               {"kernel"},
               {"B"},
               {"ms", kRight},
               {"GFLOP/s", kRight},
               {"factor", kRight},
               {"of peak", kRight},
               {.title = "parameters", .leaves = 1}});
  Json json = Json::array();
  double before = 0;
  for (const ProductRow& row : rows) {
    const std::string b = row.constant_b ? "constant" : "given";
    const double gflops = row.ms > 0 ? gflop / row.ms : 0;
    const double factor = before > 0 && row.ms > 0 ? before / row.ms : 1;
    if (row.ms > 0) before = row.ms;
    json.push_back(RowJson(row, options, gflops, factor));
    if (row.ms <= 0) {
      table.Row({row.name, row.kernel, b});
      continue;
    }
    table.Row({row.name, row.kernel, b, fmt::format("{:.3f}", row.ms),
               fmt::format("{:.1f}", gflops), fmt::format("{:.2f}x", factor), ShareOf(row),
               row.params});
  }
  const Device* const accelerator = job.accelerator.get();
  if (options.common.json) {
    PrintJson({{"m", p.m},
               {"n", p.n},
               {"k", p.k},
               {"batch", p.batch},
               {"trans_a", p.trans_a},
               {"trans_b", p.trans_b},
               {"alpha", p.alpha},
               {"beta", p.beta},
               {"rows", json},
               {"device", DeviceJson(job.threads, accelerator)},
               {"precision", PrecisionJson(options.common, accelerator, UsedPrecision(rows))},
               {"warnings", warnings}});
    return;
  }
  const std::string product =
      fmt::format("C [{}, {}] = {} * A{} [{}, {}] * B{} + {} * C, {} of {}", p.m, p.n, p.alpha,
                  p.trans_a ? " transposed" : "", p.m, p.k, p.trans_b ? " transposed" : "", p.beta,
                  p.batch, options.dtype);
  fmt::print("{}\n\n{}\n{}", Fit(product), table.ToString(), RemarksOn(rows));
  fmt::print("{}\n", Fit("B constant: packed once before, as a network's weights are; given: as it "
                         "is, anew each time"));
  PrintParts({"factor: over the line before",
              "of peak: of what bounds the kernel's arithmetic (fettle peak)",
              DeviceLine(job.threads, accelerator),
              PrecisionLine(options.common, accelerator, UsedPrecision(rows))});
}

}  // namespace fettle::tools
