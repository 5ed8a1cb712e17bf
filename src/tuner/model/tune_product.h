// Tuning a matrix product.
#pragma once

#include "runtime/product/matrix_product.h"
#include "tuner/network/level.h"
#include "tuner/store/store.h"

namespace fettle::tuner {

/// Measures what could compute `product`, which goes on with the best plan where it is faster, and
/// keeps what it learns in `store`. `seconds` 0: no limit. Fails as TuneModel does.
Status TuneProduct(runtime::MatrixProduct& product, Level level, double seconds, Store& store);

}  // namespace fettle::tuner
