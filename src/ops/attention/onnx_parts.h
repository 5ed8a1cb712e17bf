// What import rules of attention in domain com.microsoft share.
#pragma once

#include <cstdint>

#include "ops/import.h"

namespace fettle::ops {

bool IsOutputUsed(const ImportContext& context, size_t i);
/// kUnsupported where the attribute is not 0.
Status RefuseAttribute(const ImportContext& context, const char* name);
ir::ValueId CastTo(ImportContext& context, ir::ValueId x, const char* to);

}  // namespace fettle::ops
