// The texts under templates/, which are part of the executable.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace headwright::runner {

/// The template called `name`, such as "norm.cpp.in", with each @KEY@ replaced by its value.
std::string filled_template(const std::string& name, const std::vector<std::pair<std::string, std::string>>& values);

}  // namespace headwright::runner
