/** How its user calls Orlop: by the script of a checkout, or as an installed package. */
export const program = import.meta.dirname.includes("/node_modules/") ? "npx orlop" : "./orlop";
