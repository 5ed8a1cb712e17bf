// The table of `fettle gemm`.
#pragma once

#include <string>
#include <vector>

#include "jobs/product_table.h"

namespace fettle::tools {

/// Prints rows as text or JSON, as the job's options say.
void PrintProducts(const GemmJob& job, const std::vector<ProductRow>& rows,
                   const std::vector<std::string>& warnings);

}  // namespace fettle::tools
