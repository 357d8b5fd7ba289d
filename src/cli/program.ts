/** How the user calls Orlop: the script of a checkout, or an installed package. */
export const program = import.meta.dirname.includes("/node_modules/") ? "npx orlop" : "./orlop";
