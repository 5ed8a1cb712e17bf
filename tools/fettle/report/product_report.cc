#include "report/product_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/report.h"
#include "report/table.h"
#include "report/terminal.h"

namespace fettle::tools {
namespace {

double OperationsOf(const runtime::ProductProblem& p) {
  return 2 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k) *
         static_cast<double>(p.batch);
}

double GflopsOf(const GemmOptions& options, const ProductRow& row) {
  return row.ms > 0 ? 1e-6 * OperationsOf(options.problem) / row.ms : 0;
}

Json ArticleJson(const GemmOptions& options, const ArticleTime& time) {
  return {{"ms", time.ms},
          {"gflops_1024", time.GflopsOf1024Cubed(OperationsOf(options.problem))},
          {"clock", time.by_events ? "events" : "host"}};
}

/// Of each row, how much faster it is than the one before that has a time; 1 where there is none.
std::vector<double> FactorsOf(const std::vector<ProductRow>& rows) {
  std::vector<double> factors;
  double before = 0;
  for (const ProductRow& row : rows) {
    factors.push_back(before > 0 && row.ms > 0 ? before / row.ms : 1);
    if (row.ms > 0) before = row.ms;
  }
  return factors;
}

std::string_view KindOfB(const ProductRow& row) { return row.constant_b ? "constant" : "given"; }

Json RowJson(const GemmOptions& options, const ProductRow& row, double factor) {
  Json json = {
      {"name", row.name}, {"kernel", row.kernel}, {"dtype", options.dtype}, {"b", KindOfB(row)}};
  if (!row.refused.empty()) json["refused"] = row.refused;
  if (row.ms <= 0) return json;
  json["params"] = row.params;
  json["ms"] = row.ms;
  json["runs"] = row.runs;
  json["gflops"] = GflopsOf(options, row);
  json["factor"] = factor;
  json["peak"] = row.peak.empty() ? Json() : Json(row.peak);
  json["share_of_peak"] = row.share_of_peak > 0 ? Json(row.share_of_peak) : Json();
  json["precision"] = row.precision;
  json["verified"] = row.verified;
  if (row.article) json["article"] = ArticleJson(options, *row.article);
  return json;
}

std::string ShareOf(const ProductRow& row) {
  return row.share_of_peak > 0 ? fmt::format("{:.1f} %", 100 * row.share_of_peak) : "";
}

/// The least of all lines.
std::string_view UsedPrecision(const std::vector<ProductRow>& rows) {
  std::string_view used = "high";
  for (const ProductRow& row : rows)
    if (row.precision == "low" || used == "high") used = row.precision;
  return used;
}

Json DocumentOf(const GemmJob& job, const std::vector<ProductRow>& rows,
                const std::vector<double>& factors, const std::vector<std::string>& warnings) {
  const runtime::ProductProblem& p = job.options.problem;
  const Device* const accelerator = job.accelerator.get();
  Json json = Json::array();
  for (size_t i = 0; i < rows.size(); ++i)
    json.push_back(RowJson(job.options, rows[i], factors[i]));
  return {{"m", p.m},
          {"n", p.n},
          {"k", p.k},
          {"batch", p.batch},
          {"trans_a", p.trans_a},
          {"trans_b", p.trans_b},
          {"alpha", p.alpha},
          {"beta", p.beta},
          {"protocol", job.options.protocol},
          {"rows", json},
          {"device", tools::DeviceJson(job.threads, accelerator)},
          {"precision", PrecisionJson(job.options.common, accelerator, UsedPrecision(rows))},
          {"warnings", warnings}};
}

std::string ProductText(const GemmOptions& options) {
  const runtime::ProductProblem& p = options.problem;
  return fmt::format("C [{}, {}] = {} * A{} [{}, {}] * B{} + {} * C, {} of {}", p.m, p.n, p.alpha,
                     p.trans_a ? " transposed" : "", p.m, p.k, p.trans_b ? " transposed" : "",
                     p.beta, p.batch, options.dtype);
}

std::vector<Table::Column> Columns(bool by_article) {
  constexpr auto kRight = Table::Align::kRight;
  std::vector<Table::Column> columns = {{.title = "name", .least = 22},
                                        {.title = "kernel", .leaves = 5, .least = 18},
                                        {.title = "B", .leaves = 3},
                                        {"ms", kRight},
                                        {"GFLOP/s", kRight},
                                        {"factor", kRight},
                                        {.title = "of peak", .align = kRight, .leaves = 4},
                                        {.title = "bound by", .leaves = 2},
                                        {.title = "parameters", .leaves = 1}};
  if (by_article) columns.insert(columns.begin() + 5, {{"mean ms", kRight}, {"of 1024^3", kRight}});
  return columns;
}

std::vector<std::string> ArticleCells(const GemmOptions& options, const ProductRow& row) {
  if (!row.article) return {"", ""};
  return {fmt::format("{:.3f}", row.article->ms),
          fmt::format("{:.1f}", row.article->GflopsOf1024Cubed(OperationsOf(options.problem)))};
}

/// What the columns of --protocol article are.
std::string ArticleText() {
  return fmt::format(
      "mean ms: the mean of {} runs after {}, by profiling events where the device has them, "
      "otherwise by the clock; of 1024^3: 2MNK in GFLOP/s of 1024^3, those of 10^9 over 1.0737",
      kArticleRuns, kArticleWarmUps);
}

std::string TableOf(const GemmOptions& options, const std::vector<ProductRow>& rows,
                    const std::vector<double>& factors) {
  Table table(Columns(options.by_article()));
  for (size_t i = 0; i < rows.size(); ++i) {
    const ProductRow& row = rows[i];
    std::vector<std::string> cells = {row.name, row.kernel, std::string(KindOfB(row))};
    const auto add = [&](std::vector<std::string> more) {
      cells.insert(cells.end(), more.begin(), more.end());
    };
    if (row.ms > 0) {
      add({fmt::format("{:.3f}", row.ms), fmt::format("{:.1f}", GflopsOf(options, row))});
      if (options.by_article()) add(ArticleCells(options, row));
      add({fmt::format("{:.2f}x", factors[i]), ShareOf(row), row.share_of_peak > 0 ? row.peak : "",
           row.params});
    }
    table.Row(std::move(cells));
  }
  return table.ToString();
}

}  // namespace

std::vector<std::string> RaisePeaks(std::vector<ProductRow>& rows) {
  std::map<std::string, double> most;
  for (const ProductRow& row : rows)
    if (row.verified) most[row.peak] = std::max(most[row.peak], row.share_of_peak);
  for (ProductRow& row : rows)
    if (const double share = most[row.peak]; share > 1)
      row.share_of_peak = std::min(1.0, row.share_of_peak / share);
  std::vector<std::string> said;
  for (const auto& [peak, share] : most)
    if (share > 1)
      said.push_back(
          fmt::format("a product reached {:.2f} times what was measured as the peak '{}': "
                      "shares are of that product",
                      share, peak));
  return said;
}

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
  const std::vector<double> factors = FactorsOf(rows);
  if (job.options.common.json) {
    PrintJson(DocumentOf(job, rows, factors, warnings));
    return;
  }
  const Device* const accelerator = job.accelerator.get();
  fmt::print("{}\n\n{}\n{}", Fit(ProductText(job.options)), TableOf(job.options, rows, factors),
             RemarksOn(rows));
  fmt::print("{}\n", Fit("B constant: packed once before, as a network's weights are; given: "
                         "packed or read as it is, each time"));
  if (job.options.by_article()) fmt::print("{}\n", Fit(ArticleText()));
  PrintParts({"factor: over the line before",
              "of peak: of what bounds the kernel's arithmetic (fettle peak)",
              DeviceLine(job.threads, accelerator),
              PrecisionLine(job.options.common, accelerator, UsedPrecision(rows))});
}

}  // namespace fettle::tools
