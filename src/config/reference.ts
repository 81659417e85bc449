/** `${NAME}` in a file stands for a variable, and `$$` for a dollar sign. */
export const REFERENCE = /\$\$|\$\{(?<name>[A-Za-z_]\w*)\}/g;
