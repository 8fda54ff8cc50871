# Warnings are errors in our own code; torch's headers are system headers and stay out of it.
add_library(headwright_warnings INTERFACE)
target_compile_options(headwright_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Werror
  -Wno-missing-field-initializers  # structs with defaults and designated initialisers are our habit
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)  # gcc 12 warns of std::string's own insert and operator+ (gcc bug 105651)

if(HEADWRIGHT_SANITIZE)
  add_compile_options(-fsanitize=${HEADWRIGHT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${HEADWRIGHT_SANITIZE})
endif()
