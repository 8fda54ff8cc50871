# Warnings are errors in our own code; torch's headers are system headers and stay out of it.
add_library(headwright_warnings INTERFACE)
target_compile_options(headwright_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Werror
  -Wno-missing-field-initializers  # structs with defaults and designated initialisers are our habit
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)  # gcc 12 warns of std::string's own insert and operator+ (gcc bug 105651)

if(HEADWRIGHT_SANITIZE)
  # torch is not instrumented: its classes bring no type information that the check of virtual calls (vptr) could read.
  # Instrumented code makes gcc warn of what is not there, so warnings stay warnings.
  add_compile_options(-fsanitize=${HEADWRIGHT_SANITIZE} -fno-sanitize=vptr -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_compile_options(headwright_warnings INTERFACE -Wno-error)
  add_link_options(-fsanitize=${HEADWRIGHT_SANITIZE})
endif()
