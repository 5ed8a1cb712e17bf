// What `fettle gemm` measures, line by line.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/cpu/cpu_device.h"
#include "jobs/article_protocol.h"
#include "jobs/options.h"
#include "jobs/product_bench.h"
#include "jobs/product_ladder.h"
#include "runtime/product/matrix_product.h"

namespace fettle::tools {

struct GemmOptions {
  CommonOptions common;
  runtime::ProductProblem problem{.m = 1024, .n = 1024, .k = 1024};
  runtime::ProductStrides strides;  // leading dimensions alone
  std::string dtype = "f32";
  int warmup = 10, iters = 20;
  int64_t evals = 16;  // of each search; 0: none
  bool ladder = false;
  std::string protocol = "fettle";  // or "article": beside that, as articles time products

  bool by_article() const { return protocol == "article"; }
};

/// Everything that the lines of one table share.
struct GemmJob {
  const GemmOptions& options;
  int threads;
  planner::Precision precision;
  std::shared_ptr<const Device> accelerator;  // null: the CPU computes
  CpuDevice cpu;
  std::shared_ptr<tuner::Store> store;
  Tensor a, b;  // without gaps

  DeviceSet devices() const { return {cpu, accelerator.get()}; }
};

/// A time, or why there is none.
struct ProductRow {
  std::string name, kernel, params, refused;
  bool constant_b = false, verified = false;
  /// high|normal|low, as UsedPrecision says of what was run.
  std::string_view precision = "high";
  /// What bounds the kernel's arithmetic, and the share of it that the kernel reached; "" of a
  /// call, 0 where the ceiling is not known.
  std::string peak;
  double share_of_peak = 0;
  double ms = 0;
  int runs = 0;
  std::optional<ArticleTime> article;  // with --protocol article

  bool is_wrong() const { return ms > 0 ? !verified : refused.starts_with("WRONG"); }
};

/// The job outlives it.
class ProductTable {
 public:
  explicit ProductTable(const GemmJob& job);

  /// Measures each line; less where the user interrupts.
  void AddLines(std::vector<ProductLine> lines);
  /// The fastest line that has parameters, searched, with its work-group alone and with all of
  /// them; never slower than it was.
  void AddTuned();
  /// The product as a program calls it: from the caller's memory to the caller's memory, with the
  /// leading dimensions of the options.
  Status AddCall();

  const std::vector<ProductRow>& rows() const { return rows_; }

 private:
  struct Measured {
    size_t row;
    tuner::Candidate candidate;
  };
  void Fill(ProductRow& row, const tuner::Candidate& candidate, const tuner::Row& measured);
  void AddArticleTime(ProductRow& row, const Result<ArticleTime>& time);
  const Measured* Best() const;
  ProductRow& Add(std::string name, const Measured& of);
  std::optional<Measured> AddSearched(std::string name, const Measured& start,
                                      bool work_group_alone);
  void AddFastMath(Measured tuned);

  const GemmJob& job_;
  ProductBench bench_;
  ProductPeaks peaks_;
  std::vector<ProductRow> rows_;
  std::vector<Measured> measured_;
};

}  // namespace fettle::tools
