// The table of `fettle gemm`.
#pragma once

#include <string>
#include <vector>

#include "jobs/product_table.h"

namespace fettle::tools {

/// What the device reaches without memory, by the ceiling of that name; 0: not known.
struct ProductPeak {
  std::string name = "fp32 fma";
  double gflops = 0;
};

/// Prints rows as text or JSON, as the job's options say.
void PrintProducts(const GemmJob& job, const std::vector<ProductRow>& rows, const ProductPeak& peak,
                   const std::vector<std::string>& warnings);

}  // namespace fettle::tools
